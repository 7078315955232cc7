-- Who let a phase of the whole upgrade open, and why: PhaseApproval of src/rollout/tables.ts, in order.
alter table org_upgrade add column approvals jsonb not null default '[]';
