-- The name that the site had then: it may be renamed or deleted later. Older records have none.
alter table audit_log add column site_name text;
