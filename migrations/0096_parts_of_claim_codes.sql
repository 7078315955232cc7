-- Searches for a part of a claim code read every device.
create index device_by_part_of_claim_code on device using gin (org_id, claim_code gin_trgm_ops) with (fastupdate = off);
