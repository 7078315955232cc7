-- The place of a device in the order of restarts of its site: what hangs on a device has a lower one. Null: no order.
alter table upgrade_target add column rank integer;
