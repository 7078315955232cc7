-- A lease names the run of the server that holds it: the next run knows that it is void, and does not wait for its end.

alter table webhook_lane add column leased_by uuid;
