-- Which edge appliances an upgrade takes in while it runs, and when it looks for them, in service time. Null: none.
alter table mxedge_upgrade add column joining jsonb, add column include_due_ms double precision;
