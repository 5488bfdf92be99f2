"""Rules about what project files install: builds of torch, their indexes, images and companions."""
