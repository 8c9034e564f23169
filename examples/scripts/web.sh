#!/bin/sh
# Serves one page on 127.0.0.1, port $1.
root=$(cd "$(dirname "$0")/../www" && pwd) || exit 1
if busybox httpd --help > /dev/null 2>&1; then
  exec busybox httpd -f -v -p "127.0.0.1:$1" -h "$root"
elif command -v perl > /dev/null 2>&1; then
  exec perl -MIO::Socket::INET -e '
    my ($port, $file) = @ARGV;
    my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $port, Listen => 16, ReuseAddr => 1)
      or die "cannot listen on port $port: $!\n";
    $| = 1;
    print "listening on 127.0.0.1:$port\n";
    open(my $in, "<", $file) or die "$file: $!\n";
    my $page = join "", <$in>;
    while (my $client = $server->accept) {
      my $request = <$client>;
      while (defined(my $line = <$client>)) { last if $line =~ /^\r?\n$/ }
      print $client "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: ",
        length($page), "\r\n\r\n", $page;
      close $client;
    }' "$1" "$root/index.html"
fi
echo "this machine has neither busybox httpd nor perl" >&2
exit 1
