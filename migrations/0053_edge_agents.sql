-- Edge appliances that connect by the agent, and the commands that they are given.

-- SHA-256 of the public key with which the present appliance registered. It identifies the appliance together with the
-- epoch of its registration; null where none has registered.
alter table mxedge add column registered_key text;

-- Epochs of sessions rise over all appliances, so that one that is deleted and claimed again never repeats one.
create sequence mxedge_session_epoch;

create table mxedge_session (
  org_id          uuid not null,
  mxedge_id       uuid not null unique,
  node_id         uuid not null,
  epoch           bigint not null,
  connected       boolean not null,
  connected_at    timestamptz not null,
  disconnected_at timestamptz,
  -- When its gateway process stopped or died. Until it is swept, the appliance still counts as connected.
  lost_at         timestamptz,
  last_seen_at    timestamptz not null,
  -- What the agent says when it connects, and what it reported last.
  facts           jsonb not null,
  report          jsonb,
  primary key (org_id, mxedge_id),
  foreign key (org_id, mxedge_id) references mxedge (org_id, id) on delete cascade
);
create index mxedge_session_by_node on mxedge_session (node_id) where connected;

-- As device_command: `sent` is committed before the command is written to a socket.
create table mxedge_command (
  org_id      uuid not null,
  id          uuid not null,
  mxedge_id   uuid not null,
  kind        text not null check (kind in ('service', 'bounce_port', 'disconnect_aps', 'configure')),
  params      jsonb not null,
  state       text not null default 'queued'
    check (state in ('queued', 'sent', 'done', 'rejected', 'unknown', 'expired', 'cancelled')),
  -- The session that carries it, and the id of its call there.
  epoch       bigint,
  call_id     integer,
  outcome     jsonb,
  created_at  timestamptz not null,
  expires_at  timestamptz not null,
  sent_at     timestamptz,
  finished_at timestamptz,
  primary key (org_id, id),
  foreign key (org_id, mxedge_id) references mxedge (org_id, id) on delete cascade
);
create index mxedge_command_by_mxedge on mxedge_command (org_id, mxedge_id, id);
create index mxedge_command_queued on mxedge_command (mxedge_id, id) where state = 'queued';
create unique index mxedge_command_in_flight on mxedge_command (mxedge_id) where state = 'sent';
create index mxedge_command_by_call on mxedge_command (mxedge_id, call_id) where call_id is not null;
create index mxedge_command_ended on mxedge_command (org_id, finished_at) where finished_at is not null;
