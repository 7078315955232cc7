-- When a device that failed its health check was up again after its upgrade, and when it was to go down again for its restore: its
-- downtime has two parts then. See docs/decisions/0563-downtime-leaves-out-the-time-in-between.md.
alter table upgrade_target add column up_again_at timestamptz, add column down_again_at timestamptz;
alter table upgrade_target_run add column up_again_at timestamptz, add column down_again_at timestamptz;
