-- Upgrades of edge appliances await those of other upgrades, also after their end; see
-- docs/decisions/0567-edge-upgrades-await-appliances.md. Ended ones of the previous release search no longer.
update mxedge_upgrade set notes = (
  select jsonb_agg(case when note ? 'mxedge_id' and starts_with(note->>'reason', 'skipped: it is in upgrade ')
    then note || '{"kind": "in_another_upgrade"}' else note end order by place)
  from jsonb_array_elements(notes) with ordinality as noted (note, place))
where notes::text like '%"skipped: it is in upgrade %';

update mxedge_upgrade set include_due_ms = null, include_after = null where finished_at is not null;

-- A cancelled upgrade takes in nothing, also if it has ended as completed because the cancellation came too late.
update mxedge_upgrade set joining = null, include_due_ms = null, include_after = null where stopping = 'cancelled';

create index mxedge_upgrade_inclusions on mxedge_upgrade (include_due_ms) where include_due_ms is not null;
