-- Searches for devices by the beginning of a text or by a part of it. See docs/decisions/0033-search-filters.md.

-- Trigrams find parts of texts; btree_gin lets their index begin with the organization, as every index does.
do $$
begin
  create extension if not exists pg_trgm;
  create extension if not exists btree_gin;
exception when insufficient_privilege or feature_not_supported or undefined_file then
  raise exception 'the extensions pg_trgm and btree_gin are missing, and % may not create them (%): let an administrator of the database run "create extension pg_trgm; create extension btree_gin;" in it',
    current_user, sqlerrm;
end $$;

-- As a column of its own, so that an index alone can answer how many names match.
alter table device add column name_key text generated always as (lower(name)) stored;

create index device_by_name on device (org_id, name_key text_pattern_ops) include (type, site_id);
-- Also serves equality, as its predecessor did.
drop index device_by_serial;
create index device_by_serial on device (org_id, serial text_pattern_ops) include (type, site_id);
-- Searches of every type, in their usual order.
create index device_by_time on device (org_id, modified_at, id);
-- Without a list of pending entries, which every search would read until the next vacuum.
create index device_by_part on device using gin
  (org_id, name_key gin_trgm_ops, mac gin_trgm_ops, serial gin_trgm_ops, model gin_trgm_ops) with (fastupdate = off);
