"""`torchmigrate survey`: what an upgrade breaks in many repositories, on one machine or on a Ray cluster."""
