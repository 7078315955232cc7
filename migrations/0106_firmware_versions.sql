-- What a catalog entry says besides its label. `reported` are the further strings by which devices report that they run
-- the version, as a JSON array; `min_version` is the lowest version from which it can be installed.
alter table firmware_version
  add column channel text check (channel in ('stable', 'beta', 'alpha')),
  add column reported jsonb not null default '[]',
  add column min_version text;

-- The same strings, for the version that the target is to install; null: none. A device that reports one of them runs
-- the target version.
alter table upgrade_target add column reported jsonb;
