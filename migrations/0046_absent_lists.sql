-- Clients get back what they sent: null means that nobody has sent the list, and an empty list stays one.
alter table privilege alter column views drop default, alter column views drop not null;
update privilege set views = null where views = '{}';
alter table api_token alter column src_ips drop default, alter column src_ips drop not null;
update api_token set src_ips = null where src_ips = '{}';
