-- Why devices could not join an upgrade when it last looked at them; one row a device, at the upgrade of its site. See
-- docs/decisions/0541-failures-to-join-are-rows.md.
create table upgrade_joining_failure (
  org_id     uuid not null,
  upgrade_id uuid not null,
  device_id  uuid not null,
  mac        text not null,
  reason     text not null,
  primary key (org_id, upgrade_id, device_id),
  foreign key (org_id, upgrade_id) references site_upgrade (org_id, id) on delete cascade
);

-- They were notes. An upgrade that runs finds those that are still true within a minute.
update site_upgrade set notes = (
  select coalesce(jsonb_agg(note order by place), '[]') from jsonb_array_elements(notes) with ordinality as noted (note, place)
  where note->>'reason' not like 'could not be taken in, which is tried again: %')
where notes::text like '%"could not be taken in, which is tried again: %';
