-- What a device reported before its upgrade, where its health is compared afterwards; null: nothing is compared.
alter table upgrade_target add column baseline jsonb;
