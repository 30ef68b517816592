from left_behind import remove_what_is_left

__all__ = ["remove_what_is_left"]
