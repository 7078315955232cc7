-- Since when each attempt of a lane has failed, so that admins learn of it and the webhook is disabled in the end.

alter table webhook_lane add column failing_since timestamptz;
update webhook_lane set failing_since = now() where failures > 0;
create index webhook_lane_failing on webhook_lane (failing_since) where failing_since is not null;

-- What admins were told of a webhook that fails.
create table webhook_notice (
  org_id        uuid not null,
  webhook_id    uuid not null,
  -- The notice is of this time of failing: a later one has a `failing_since` of its own.
  failing_since timestamptz not null,
  -- The last stage that was reached, and the last one that was mailed; in hours.
  hours         integer not null,
  mailed_hours  integer not null default 0,
  primary key (org_id, webhook_id),
  foreign key (org_id, webhook_id) references webhook (org_id, id) on delete cascade
);
create index webhook_notice_unmailed on webhook_notice (org_id) where mailed_hours < hours;
