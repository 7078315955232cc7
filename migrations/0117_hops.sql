-- The versions that a device goes over, the last of them the one that is wanted, with their images; null: it gets that
-- version directly. The columns target_version, image_id and reported are about the present one.
alter table upgrade_target add column path jsonb;
-- The images that the upgrade gives the device after image_id; null: none.
alter table active_upgrade_target add column later_images jsonb;
