-- Targets that take a recovery snapshot have a state of their own.
update site_upgrade set counts = counts || '{"snapshotting": 0}';
