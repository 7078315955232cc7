-- The account that created the organization, for the limit of an account. Null for those of the operator, and for those from
-- before. No foreign key: to delete an account would lock its organizations, which others lock first. Rewrites nothing.
alter table org add column created_by uuid;
create index org_by_creator on org (created_by) where created_by is not null;
