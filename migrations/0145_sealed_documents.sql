-- How far the secrets in documents of earlier releases have been sealed, table by table, at the start of the server.
create table sealed_table (
  table_name text primary key,
  -- The primary key of the last row that was read, in the words of PostgreSQL; null before the first.
  after_key  text[],
  -- True once every document of the table is sealed. New ones are sealed when they are written.
  is_whole   boolean not null
);

-- A known text, sealed with the master key: it shows at the start whether secret.key is the key of this database.
create table master_key (
  id     boolean primary key default true check (id),
  sealed bytea not null
);
