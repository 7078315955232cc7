-- The upgrade was cancelled at this site: it takes in no devices that join later, whatever it ended as. A cancellation that
-- comes too late for every device leaves no other trace.
alter table site_upgrade add column closed boolean not null default false;
