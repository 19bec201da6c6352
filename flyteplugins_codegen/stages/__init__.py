"""What happens, one file per stage, in the order of the picture in the design: value in, value out."""
