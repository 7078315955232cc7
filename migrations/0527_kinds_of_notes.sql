-- A note says by its kind, and not by its text, that another upgrade had the device; see
-- docs/decisions/0566-notes-have-kinds.md.
update site_upgrade set notes = (
  select jsonb_agg(case when note ? 'mac' and starts_with(note->>'reason', 'in another upgrade')
    then note || '{"kind": "in_another_upgrade"}' else note end order by place)
  from jsonb_array_elements(notes) with ordinality as noted (note, place))
where notes::text like '%"in another upgrade%';

-- Plans of previews have such notes as well. A plan expires after 15 minutes, so a person makes a new one.
delete from upgrade_preview;
