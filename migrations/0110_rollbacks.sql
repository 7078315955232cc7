-- A target whose device returns to its backup version is in a state of its own.
update site_upgrade set counts = counts || '{"rolling_back": 0}';
