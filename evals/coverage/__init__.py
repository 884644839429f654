"""The coverage bench (Component 3): how much of what a window holds do the conclusions carry?"""
