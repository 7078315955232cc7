-- Less to write for each step of a target. See docs/decisions/0266-facts-that-stay-stand-last.md.

-- An update on the page of its row writes what is between the first and the last byte that differ. What only a new command
-- changes comes before what each step changes, and both come after what stays.
alter table upgrade_target rename column attempt to former_attempt;
alter table upgrade_target rename column failed_attempts to former_failed_attempts;
alter table upgrade_target rename column lost_attempts to former_lost_attempts;
alter table upgrade_target rename column run to former_run;
alter table upgrade_target rename column boot_count to former_boot_count;
alter table upgrade_target rename column command_id to former_command_id;
alter table upgrade_target rename column retry_at_ms to former_retry_at_ms;
alter table upgrade_target rename column staged to former_staged;
alter table upgrade_target rename column fetched to former_fetched;
alter table upgrade_target rename column entered_at to former_entered_at;
alter table upgrade_target rename column entered_ms to former_entered_ms;
alter table upgrade_target rename column state to former_state;
alter table upgrade_target rename column reason to former_reason;
alter table upgrade_target rename column down_at to former_down_at;
alter table upgrade_target rename column up_at to former_up_at;
alter table upgrade_target rename column timeline to former_timeline;
alter table upgrade_target
  add column attempt integer not null default 0,
  add column failed_attempts integer not null default 0,
  add column lost_attempts integer not null default 0,
  add column run integer not null default 1,
  add column boot_count integer,
  add column command_id uuid,
  add column retry_at_ms double precision,
  add column staged boolean not null default false,
  add column fetched boolean not null default false,
  add column entered_at timestamptz,
  add column entered_ms double precision not null default 0,
  add column state text,
  add column reason text,
  add column down_at timestamptz,
  add column up_at timestamptz,
  add column timeline text not null default '';
update upgrade_target set attempt = former_attempt, failed_attempts = former_failed_attempts,
  lost_attempts = former_lost_attempts, run = former_run, boot_count = former_boot_count, command_id = former_command_id,
  retry_at_ms = former_retry_at_ms, staged = former_staged, fetched = former_fetched, entered_at = former_entered_at,
  entered_ms = former_entered_ms, state = former_state, reason = former_reason, down_at = former_down_at,
  up_at = former_up_at, timeline = former_timeline;
alter table upgrade_target
  alter column entered_at set not null,
  alter column state set not null,
  drop column former_attempt,
  drop column former_failed_attempts,
  drop column former_lost_attempts,
  drop column former_run,
  drop column former_boot_count,
  drop column former_command_id,
  drop column former_retry_at_ms,
  drop column former_staged,
  drop column former_fetched,
  drop column former_entered_at,
  drop column former_entered_ms,
  drop column former_state,
  drop column former_reason,
  drop column former_down_at,
  drop column former_up_at,
  drop column former_timeline;
