-- When the service last ran, by the wall clock: at its next start it notices that the clock has been set back meanwhile. See
-- docs/decisions/0503-a-clock-that-is-set-back-while-the-service-is-stopped.md.
alter table service_clock add column wall_at timestamptz;
