"""Work carried out side by side in processes forked from this one."""
