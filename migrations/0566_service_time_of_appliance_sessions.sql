-- When the session of an edge appliance began, in service time, as that of a device: upgrades measure by it, so that a step of
-- the clock neither shortens nor extends a soak. Nothing else reads the instant of the wall clock. Sessions of the previous
-- release count as begun now, because a soak may only become longer.
alter table mxedge_session add column connected_ms double precision not null default 0;
update mxedge_session set connected_ms = (select ms from service_clock);
alter table mxedge_session alter column connected_ms drop default, drop column connected_at;
