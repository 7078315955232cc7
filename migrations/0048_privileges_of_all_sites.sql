-- A privilege for all sites of an organization, without the organization itself.
alter table privilege
  drop constraint privilege_scope_check,
  add constraint privilege_scope_check check (scope in ('org', 'orgsites', 'site', 'sitegroup'));
