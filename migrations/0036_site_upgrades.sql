-- The upgrades of a site are listed newest first.
create index site_upgrade_by_site on site_upgrade (org_id, site_id, id);
