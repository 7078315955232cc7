-- Notes about an organization's upgrade as a whole, as site upgrades have theirs: [{reason}].

alter table org_upgrade add column notes jsonb not null default '[]';
