-- The last epoch of the registrations of hardware whose appliance was deleted: if it is claimed again, its registrations go on from
-- there, so that no upgrade of the former appliance takes it for the same one.
alter table mxedge_registry add column registration_epoch integer not null default 0;
