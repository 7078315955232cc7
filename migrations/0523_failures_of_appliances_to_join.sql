-- The same for edge appliances: see docs/decisions/0541-failures-to-join-are-rows.md.
create table mxedge_upgrade_joining_failure (
  org_id     uuid not null,
  upgrade_id uuid not null,
  mxedge_id  uuid not null,
  reason     text not null,
  primary key (org_id, upgrade_id, mxedge_id),
  foreign key (org_id, upgrade_id) references mxedge_upgrade (org_id, id) on delete cascade
);

update mxedge_upgrade set notes = (
  select coalesce(jsonb_agg(note order by place), '[]') from jsonb_array_elements(notes) with ordinality as noted (note, place)
  where note->>'reason' not like 'could not be taken in, which is tried again: %')
where notes::text like '%"could not be taken in, which is tried again: %';
