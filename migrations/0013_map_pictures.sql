-- What the pictures of maps take, so that an organization's have a bound.

-- Of the file that `image` names; 0 where there is none. Pictures of before count nothing until they are replaced.
alter table site_map add column image_bytes integer not null default 0;
