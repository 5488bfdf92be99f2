"""What a piece of advice has to have seen before it speaks: tensors, loops over them, and what is compiled."""
