-- An upgrade that takes in devices that join later: which devices it means and what they get (null: it takes in none), when
-- it looks for them next, in service time (null: never again), and the last device that the present pass over the devices
-- of its sites has looked at (null: it begins anew).
alter table org_upgrade
  add column joining jsonb, add column include_due_ms double precision, add column include_after uuid;
create index org_upgrade_inclusions on org_upgrade (include_due_ms) where include_due_ms is not null;
