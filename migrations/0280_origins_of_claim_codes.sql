-- Where the claim code of a device comes from: a manifest has the printed one, and otherwise the service has generated it.
-- A generated one is renewed when the device is unclaimed. See docs/decisions/0260-generated-claim-codes-are-renewed.md.
alter table device_registry
  add column code_origin text not null default 'generated' check (code_origin in ('manifest', 'generated'));

-- The origin of existing codes was not recorded. A code with another length or with other characters was never generated, and a
-- device that has neither connected nor can have registered as a router is only known from a manifest. All others count as generated;
-- importing their manifest again corrects that, for claimed devices as well.
update device_registry set code_origin = 'manifest'
where claim_code !~ '^[A-HJKMNP-Z2-9]{15}$' or (last_seen_at is null and upper(model) not like 'SSR%');
