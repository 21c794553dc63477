"""The page, on NiceGUI: widgets only. What they show is computed in the folder above."""
