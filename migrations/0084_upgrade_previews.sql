-- Plans of upgrades that were shown and not started. One that is started, or has expired, is deleted.
create table upgrade_preview (
  org_id uuid not null references org (id) on delete cascade,
  -- The id of the upgrade, once it is started.
  id uuid not null,
  -- The operation, and the site or the device it is for.
  origin text not null,
  -- The request as it was sent.
  body jsonb not null,
  plan jsonb not null,
  expires_at timestamptz not null,
  primary key (org_id, id)
);
