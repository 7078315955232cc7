--- Of two indexes that seem to cost the same, PostgreSQL takes the newer one. In a table that has not been analyzed yet, the key
--- and any index that begins with org_id seem to cost the same, so a lookup by the key read all rows of the organization: each
--- insert that refers to a device did so. Now the keys of the tables that grow fast are the newest of their indexes.
do $$
declare
  owner regclass;
  reference record;
begin
  foreach owner in array array[
    'device', 'device_command', 'mxedge', 'mxedge_command', 'mxedge_upgrade', 'site_upgrade', 'alarm'
  ]::regclass[]
  loop
    create temporary table reference on commit drop as
      select conrelid::regclass as referring, conname, pg_get_constraintdef(oid) as definition
      from pg_constraint where contype = 'f' and confrelid = owner and conparentid = 0;
    for reference in select * from reference loop
      execute format('alter table %s drop constraint %I', reference.referring, reference.conname);
    end loop;
    execute (
      select format('alter table %s drop constraint %I, add constraint %I %s', owner, conname, conname, pg_get_constraintdef(oid))
      from pg_constraint where contype = 'p' and conrelid = owner
    );
    for reference in select * from reference loop
      execute format('alter table %s add constraint %I %s', reference.referring, reference.conname, reference.definition);
    end loop;
    drop table reference;
  end loop;
end $$;
