-- When the site of a place of events was deleted; null: it exists, or the place is an organization. The place is deleted once
-- events of that time are. See docs/decisions/0421-places-end-with-their-events.md.
alter table event_place add column deleted_at timestamptz;
update event_place place set deleted_at = now()
where site_id is not null and not exists (
  select from site where site.org_id = place.org_id and site.id = place.site_id);
