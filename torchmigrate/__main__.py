"""``python -m torchmigrate``."""

from torchmigrate.cli import main

if __name__ == "__main__":
    main()
