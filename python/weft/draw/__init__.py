"""Drawings of plans: message patterns and timelines, as text formats that need no library."""
