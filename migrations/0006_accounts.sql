-- Accounts: registration, second factor, single sign-on, OAuth identities, tokens of organizations.

alter table admin
  -- Fields of the account record that the service only keeps: phone, phone2, address, ...
  add column profile           jsonb not null default '{}',
  add column no_tracking       boolean,
  -- Sealed TOTP secret; enrolled once `totp_since` is set.
  add column totp_secret       bytea,
  add column totp_since        timestamptz,
  -- Last accepted time step: a code is good once.
  add column totp_last_step    bigint not null default 0,
  -- Comes from an identity provider: no password, no tokens of their own.
  add column sso_id            uuid,
  add column sso_subject       text,
  add constraint admin_by_sso unique (sso_id, sso_subject),
  add constraint admin_sso_whole check ((sso_id is null) = (sso_subject is null));
-- The same person may have an account of their own and one of each identity provider.
alter table admin drop constraint admin_email_key;
create unique index admin_by_email on admin (email) where sso_id is null;

alter table privilege
  add column sitegroup_id uuid,
  add column views text[] not null default '{}',
  drop constraint privilege_scope_check,
  drop constraint privilege_check,
  add constraint privilege_scope_check check (scope in ('org', 'site', 'sitegroup')),
  add constraint privilege_place_check check (
    (scope = 'site') = (site_id is not null) and (scope = 'sitegroup') = (sitegroup_id is not null));

alter table api_token
  alter column admin_id drop not null,
  -- Of an organization's token; its privileges are its own, those of an admin's token are the admin's.
  add column org_id       uuid references org (id) on delete cascade,
  -- Array of {scope, role, site_id?, sitegroup_id?, views?}.
  add column privileges   jsonb,
  add column src_ips      text[] not null default '{}',
  add column created_by   uuid,
  add column last_used_at timestamptz,
  add constraint api_token_owner check ((admin_id is null) <> (org_id is null) and (org_id is null) = (privileges is null));
create index api_token_by_admin on api_token (admin_id);
create index api_token_by_org on api_token (org_id);

alter table session
  -- Password was right, the code is still missing; and how often a wrong one was tried.
  add column second_factor_missing boolean not null default false,
  add column second_factor_tries   integer not null default 0,
  -- Whether the second factor was given in this session.
  add column second_factor_passed  boolean not null default false,
  -- Of a session that an identity provider opened.
  add column sso_id        uuid,
  add column sso_session   text,
  add column last_seen_at  timestamptz,
  -- When the password was given in this session; null where it was opened in another way.
  add column password_at   timestamptz,
  add column src_ip        text,
  add column user_agent    text;
create index session_by_admin on session (admin_id);

-- Somebody who has registered and not verified yet: no account, cannot log in.
create table pending_registration (
  id            uuid primary key,
  token_hash    bytea not null unique,
  email         text not null,
  password_hash text not null,
  -- Checked fields of the request, wire shape, without password and captcha.
  doc           jsonb not null,
  created_at    timestamptz not null,
  expires_at    timestamptz not null,
  -- Kept for a while, so that a second visit can be told what happened.
  used_at       timestamptz
);
create index pending_registration_by_email on pending_registration (email);

-- Links in mails that are good once.
create table mailed_token (
  token_hash bytea primary key,
  purpose    text not null check (purpose in ('recover', 'change_email')),
  admin_id   uuid not null references admin (id) on delete cascade,
  -- Of change_email: {email}.
  doc        jsonb not null default '{}',
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index mailed_token_by_admin on mailed_token (admin_id);

-- When mails went to an address that somebody unknown can name; bounds them.
create table mail_sent (
  address_hash bytea not null,
  id           uuid not null,
  sent_at      timestamptz not null,
  primary key (address_hash, sent_at, id)
);

create table invite (
  org_id     uuid not null references org (id) on delete cascade,
  id         uuid not null,
  email      text not null,
  token_hash bytea not null unique,
  -- {first_name?, last_name?, hours, privileges: [...]}.
  doc        jsonb not null,
  invited_by uuid,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (org_id, id)
);
create index invite_by_email on invite (email);

create table recovery_code (
  admin_id  uuid not null references admin (id) on delete cascade,
  code_hash bytea not null,
  primary key (admin_id, code_hash)
);

-- Failed logins of an account (`admin_id`), for its owner to see.
create table login_failure (
  admin_id   uuid not null references admin (id) on delete cascade,
  id         uuid not null,
  src_ip     text,
  user_agent text,
  created_at timestamptz not null,
  primary key (admin_id, id)
);

-- What happened to an account outside any organization, and a copy of what it did inside.
create table account_log (
  admin_id   uuid not null references admin (id) on delete cascade,
  id         uuid not null,
  message    text not null,
  src_ip     text,
  user_agent text,
  before     jsonb,
  after      jsonb,
  created_at timestamptz not null,
  primary key (admin_id, id)
);

-- An account at an OAuth provider that is linked to an admin: identity is (provider, issuer, subject).
create table oauth_identity (
  provider  text not null,
  issuer    text not null,
  subject   text not null,
  admin_id  uuid not null references admin (id) on delete cascade,
  linked_at timestamptz not null,
  primary key (provider, issuer, subject),
  unique (admin_id, provider)
);

-- A visit to a provider that is under way.
create table oauth_flow (
  state_hash  bytea primary key,
  provider    text not null,
  purpose     text not null check (purpose in ('link', 'login')),
  -- Whom it is bound to: the session of a link, the flow cookie of a login.
  bound_hash  bytea not null,
  -- Sealed {nonce, verifier}.
  sealed      bytea not null,
  forward     text,
  created_at  timestamptz not null,
  expires_at  timestamptz not null
);
create index oauth_flow_by_expiry on oauth_flow (expires_at);

-- Our own one-time code, which stands for the provider's answer.
create table oauth_code (
  code_hash   bytea primary key,
  provider    text not null,
  purpose     text not null check (purpose in ('link', 'login')),
  bound_hash  bytea not null,
  -- Sealed {parameters of the callback, nonce, verifier}, or {error, error_description}.
  sealed      bytea not null,
  expires_at  timestamptz not null
);

create table sso (
  org_id      uuid not null references org (id) on delete cascade,
  id          uuid not null unique,
  -- Part of the addresses that the identity provider is given.
  domain      text not null unique,
  doc         jsonb not null,
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  primary key (org_id, id)
);

create table sso_role (
  org_id      uuid not null references org (id) on delete cascade,
  id          uuid not null,
  name        text not null,
  privileges  jsonb not null,
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  primary key (org_id, id),
  unique (org_id, name)
);

create table sso_failure (
  org_id     uuid not null,
  id         uuid not null,
  sso_id     uuid not null,
  detail     text not null,
  assertion  text not null,
  created_at timestamptz not null,
  primary key (org_id, id),
  foreign key (org_id, sso_id) references sso (org_id, id) on delete cascade
);

-- Requests that we sent to an identity provider, and assertions that it has used up.
create table saml_request (
  id         text primary key,
  sso_id     uuid not null,
  -- The cookie of the browser that asked.
  bound_hash bytea not null,
  -- Where the browser is led once it is signed in.
  forward    text,
  expires_at timestamptz not null
);
create index saml_request_by_expiry on saml_request (expires_at);
create table saml_assertion_used (
  sso_id       uuid not null,
  assertion_id text not null,
  expires_at   timestamptz not null,
  primary key (sso_id, assertion_id)
);
create index saml_assertion_used_by_expiry on saml_assertion_used (expires_at);

-- Settings of an organization, apart from its own record as the interface has them.
create table org_setting (
  org_id      uuid primary key references org (id) on delete cascade,
  -- Wire shape, unknown members included.
  doc         jsonb not null,
  created_at  timestamptz not null,
  modified_at timestamptz not null
);
