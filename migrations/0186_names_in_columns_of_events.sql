-- Every event of a device has a name and a level, and nearly every one a site's name: columns write fewer bytes than members
-- of a document, which repeats their names. Events of former releases have them in the document. See
-- docs/decisions/0138-names-of-events-in-columns.md.
alter table device_event
  add column device_name text,
  add column site_name text,
  add column warns boolean;
