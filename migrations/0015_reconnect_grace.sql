-- After many devices of a site went away at once, nobody is given up before this service time.
alter table site_upgrade add column grace_until_ms double precision;
