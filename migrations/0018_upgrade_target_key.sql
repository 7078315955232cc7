-- Targets are found by their key alone. While PostgreSQL has not analyzed the rows of a new upgrade, an index by phase
-- looked as good for one device as the key, and each lookup read all targets of the upgrade.
drop index upgrade_target_by_phase;
