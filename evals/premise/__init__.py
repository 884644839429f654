"""The two-pass premise judge (Component 1): can a stranger use a conclusion, and is it licensed?"""
